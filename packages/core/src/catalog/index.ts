export { servePublicCatalog, type PublicCatalogRoutes } from './catalog.routes.ts';
