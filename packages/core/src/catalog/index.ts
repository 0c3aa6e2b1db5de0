export { serveOpenCatalog, type OpenCatalogRoutes } from './catalog.routes.ts';
