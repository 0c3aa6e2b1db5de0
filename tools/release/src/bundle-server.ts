import { productFolder } from '@millrace/platform/release';
import { bundledPackages, type BundledPackage } from '@millrace/publish';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown, type OutputChunk } from 'rolldown';

/** The programs of a server, by name, and the file of each. */
export const serverPrograms = {
  api: 'apps/api/src/main.ts',
  worker: 'apps/worker/src/main.ts',
  gateway: 'apps/gateway/src/main.ts',
  storage: 'apps/storage/src/main.ts',
  admin: 'apps/admin/src/main.ts',
  trial: 'tools/dev/src/trial.ts',
} as const;

/** Packages load these inside `try` and work without them. */
const optionalImports: readonly RegExp[] = [
  // Faster ciphers and a test of the processor, both compiled on installation, which we do not do.
  /\.node$/,
  // Hashes for the client-side cache of the Valkey client, which we do not use.
  /^@node-rs\/xxhash$/,
];

/** Bundles all programs into `folder`. Modules that several programs import are written once. */
export async function bundleServer(folder: string): Promise<readonly BundledPackage[]> {
  const bundle = await rolldown({
    cwd: productFolder,
    input: { ...serverPrograms },
    platform: 'node',
    external: [/^node:/, ...optionalImports],
    // Modules of packages may be CommonJS, but files of the bundle are not.
    transform: { define: { __dirname: 'import.meta.dirname' } },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    sourcemap: true,
    // Relative to the repository, so that two builds in different folders are equal.
    sourcemapPathTransform: (source, map) =>
      path.relative(productFolder, path.resolve(path.dirname(map), source)),
  });
  await bundle.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  refuseOtherImports(chunks);
  return bundledPackages(chunks.flatMap(({ moduleIds }) => moduleIds));
}

/** An import that is not in the bundle would fail only when it runs. */
function refuseOtherImports(chunks: readonly OutputChunk[]): void {
  const files = new Set(chunks.map(({ fileName }) => fileName));
  for (const { fileName, imports, dynamicImports } of chunks) {
    const unknown = [...imports, ...dynamicImports].find(
      (name) => !files.has(name) && !isBuiltin(name) && !optionalImports.some((known) => known.test(name)),
    );
    if (unknown !== undefined)
      throw new Error(`${fileName} imports ${unknown}, which the bundle does not contain.`);
  }
}
