/** Percentage, rounded down so that a single failure never shows as 100 %: `99.9 %`. */
export function percentText(share: number): string {
  const tenths = Math.floor(Math.min(1, Math.max(0, share)) * 1_000 + 1e-9);
  const text = (tenths * 0.1).toFixed(1);
  return `${text.endsWith('.0') ? text.slice(0, -2) : text} %`;
}
