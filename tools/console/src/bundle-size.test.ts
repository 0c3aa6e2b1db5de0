import { expect, it } from 'vitest';
import { computeBundleSize } from './bundle-size.ts';

const sizes: Readonly<Record<string, number>> = {
  'app.js': 100,
  'react.js': 50,
  'page.js': 7,
  'chart.js': 20,
};
const manifest = {
  'index.html': { file: 'app.js', isEntry: true, imports: ['_react.js'], dynamicImports: ['page.tsx'] },
  '_react.js': { file: 'react.js', imports: ['index.html'] },
  'page.tsx': { file: 'page.js', imports: ['_react.js', 'index.html'], dynamicImports: ['chart.ts'] },
  'chart.ts': { file: 'chart.js' },
  'style.css': { file: 'style.css' },
};

it('computeBundleSize sums the static imports of the entry, and what each lazy chunk adds', () => {
  expect(computeBundleSize(manifest, (file) => sizes[file] ?? Number.NaN)).toEqual({
    firstLoadBytes: 150,
    lazyChunks: [
      { name: 'chart.ts', bytes: 20 },
      { name: 'page.tsx', bytes: 7 },
    ],
  });
});

it('computeBundleSize refuses a manifest without an entry', () => {
  expect(() => computeBundleSize({ 'page.tsx': { file: 'page.js' } }, () => 1)).toThrow('no entry');
});
