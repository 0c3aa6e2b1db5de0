export { readBuildInfo, type BuildInfo } from './build-info.ts';
export { productFolder } from './product-folder.ts';
