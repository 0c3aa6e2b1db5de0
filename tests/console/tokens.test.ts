import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const css = readFileSync(
  path.join(import.meta.dirname, '..', '..', 'apps', 'console', 'src', 'styles.css'),
  'utf8',
);
const colours = new Map(
  [...css.matchAll(/--color-([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);

/** Relative luminance of WCAG 2. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.040_45 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Pairs of foreground and background below the least contrast, in both themes. */
function tooLow(
  foregrounds: readonly string[],
  backgrounds: readonly string[],
  least: number,
): readonly string[] {
  return foregrounds.flatMap((front) =>
    backgrounds.flatMap((back) =>
      (['light', 'dark'] as const).flatMap((theme) => {
        const found = contrast(
          colours.get(front)?.[theme] ?? '#000000',
          colours.get(back)?.[theme] ?? '#000000',
        );
        return found < least ? [`${front} on ${back} in ${theme}: ${found.toFixed(2)}`] : [];
      }),
    ),
  );
}

test('text has a contrast of at least 4.5 to 1 on every background that it is used on', () => {
  const grounds = ['ground', 'surface', 'raised'];
  expect(
    tooLow(['ink', 'soft', 'accent', 'accent-strong', 'good', 'warn', 'bad', 'info'], grounds, 4.5),
  ).toEqual([]);
  expect(tooLow(['on-accent'], ['accent', 'accent-strong'], 4.5)).toEqual([]);
  expect(tooLow(['accent-strong', 'ink', 'soft'], ['accent-soft'], 4.5)).toEqual([]);
  for (const tone of ['good', 'warn', 'bad', 'info']) {
    expect(tooLow([tone, 'ink', 'soft'], [`${tone}-soft`], 4.5)).toEqual([]);
  }
});

test('fields and chart series have a contrast of at least 3 to 1', () => {
  const series = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `chart-${String(number)}`);
  expect(series.every((name) => colours.has(name))).toBe(true);
  expect(tooLow(['field', ...series], ['surface', 'ground'], 3)).toEqual([]);
});
