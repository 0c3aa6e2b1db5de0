import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { barChart, type Bar } from './bars.ts';
import { widthOf } from '../framework/text.ts';

const days: Bar[] = [
  { label: '2026-11-14', value: 4_200_000_000n, text: '$4.20' },
  { label: '2026-11-13', value: 0n, text: '$0.00' },
  { label: '2026-11-12', value: 12_600_000_000n, text: '$12.60' },
  { label: '2026-11-11', value: 1n, text: '$0.000000001' },
];

describe('barChart', () => {
  test('draws one line per bar, the longest as long as the terminal allows', () => {
    expect(barChart(days, { columns: 50 })).toEqual([
      '2026-11-14  ████████                         $4.20',
      '2026-11-13                                   $0.00',
      '2026-11-12  ████████████████████████        $12.60',
      '2026-11-11  ▏                         $0.000000001',
    ]);
  });

  test('omits bars without space, and never amounts', () => {
    expect(barChart(days, { columns: 20 })).toEqual([
      '2026-…         $4.20',
      '2026-…         $0.00',
      '2026-…        $12.60',
      '2026-…  $0.000000001',
    ]);
  });

  test('fits the terminal with any labels', () => {
    const bars = fc.array(
      fc.record({
        label: fc.string({ unit: 'grapheme', maxLength: 60 }),
        value: fc.bigInt({ min: 0n, max: 10n ** 19n }),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(bars, fc.integer({ min: 24, max: 200 }), (some, columns) => {
        const lines = barChart(
          some.map((each) => ({ ...each, text: String(each.value) })),
          { columns },
        );
        expect(lines).toHaveLength(some.length);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test('never draws zero for a small value, or a bar for zero', () => {
    const [four, none, , least] = barChart(days, { columns: 80, paint: (bar) => `<${bar}>` });
    expect(four).toContain('<███');
    expect(none).toContain('<>');
    expect(least).toContain('<▏>');
  });
});
