export { bundledPackages, type BundledPackage } from './bundled-packages.ts';
export { stageCli } from './cli-package.ts';
export { generatedFiles, readUncallable, staleFiles, writeGenerated } from './generate.ts';
export { inputFieldsOf } from './operation-table.ts';
export { sdkPackage, stagePackage, type StagedPackage } from './stage.ts';
