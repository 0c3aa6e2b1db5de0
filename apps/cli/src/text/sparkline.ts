import { ratio } from '@millrace/sdk/text';

const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** One bar per value, scaled to `most`; a gap where nothing was measured. */
export function sparkline(values: readonly (number | null)[], most: number): string {
  return values
    .map((value) => {
      if (value === null) return ' ';
      const level = Math.floor(ratio(value, most) * levels.length);
      return levels[Math.max(0, Math.min(levels.length - 1, level))] ?? ' ';
    })
    .join('');
}
