import { buildConsole, builtFolder } from './src/build.ts';
import { FIRST_LOAD_LIMIT_BYTES, readBundleSize } from './src/bundle-size.ts';

const kb = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;

/** How many of the parts that are loaded later are shown. */
const MAX_SHOWN_CHUNKS = 8;

function size(): number {
  buildConsole();
  const { firstLoadBytes, lazyChunks } = readBundleSize(builtFolder);
  const isLight = firstLoadBytes <= FIRST_LOAD_LIMIT_BYTES;
  console.log(
    `First load: ${kb(firstLoadBytes)} of script, packed by gzip; at most ${kb(FIRST_LOAD_LIMIT_BYTES)}.`,
  );
  for (const { name, bytes } of lazyChunks.slice(0, MAX_SHOWN_CHUNKS)) {
    console.log(`  later, when it is needed: ${kb(bytes).padStart(9)}  ${name}`);
  }
  if (!isLight) console.log('It is too heavy: load what the first page does not need by a dynamic import.');
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
