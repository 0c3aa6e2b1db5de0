import { buildConsole, builtFolder } from './src/build.ts';
import { FIRST_LOAD_LIMIT_BYTES, readBundleSize } from './src/bundle-size.ts';

const kb = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;

const MAX_SHOWN_CHUNKS = 8;

function size(): number {
  buildConsole();
  const { firstLoadBytes, lazyChunks } = readBundleSize(builtFolder);
  const isLight = firstLoadBytes <= FIRST_LOAD_LIMIT_BYTES;
  console.log(
    `First load: ${kb(firstLoadBytes)} of gzipped script; the limit is ${kb(FIRST_LOAD_LIMIT_BYTES)}.`,
  );
  for (const { name, bytes } of lazyChunks.slice(0, MAX_SHOWN_CHUNKS)) {
    console.log(`  loaded on demand: ${kb(bytes).padStart(9)}  ${name}`);
  }
  if (!isLight)
    console.log(
      'The first load is too large. Use a dynamic import for code that the first page does not need.',
    );
  return isLight ? 0 : 1;
}

function main([command = '']: readonly string[]): number {
  switch (command) {
    case 'build':
      buildConsole({ always: true });
      return 0;
    case 'size':
      return size();
    default:
      console.error('Usage: npm run console:build, or npm run console:size');
      return 2;
  }
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
