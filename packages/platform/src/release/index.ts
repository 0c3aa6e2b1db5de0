export { readBuildInfo, type BuildInfo } from './build-info.ts';
export { productFolder } from './product-folder.ts';
export { isOlder } from './version.ts';
export { isReleaseName, releaseNameOf } from './release-name.ts';
