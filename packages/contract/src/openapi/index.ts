export { buildDocument, documentNames } from './document.ts';
export type { OpenApiDocument, OperationObject, PathItem } from './types.ts';
