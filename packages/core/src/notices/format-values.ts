import { formatUsd, parseNanoUsd, divideWithRemainder } from '@millrace/platform/money';

/** Formats values for emails. Pure. */

/** Cut off after cents, never rounded up. */
export function formatNanoUsd(nano: string): string {
  const amount = parseNanoUsd(nano);
  const cut = amount === null ? nano : formatUsd(amount).replace(/(\.\d\d)\d+$/, '$1');
  return `${cut === '-0.00' ? '0.00' : cut} USD`;
}

/** `2026-08-01 12:00 UTC`: readers are in many time zones. */
export function formatInstant(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

const units = [
  { name: 'days', seconds: 86_400 },
  { name: 'hours', seconds: 3_600 },
  { name: 'minutes', seconds: 60 },
] as const;

/** In the largest unit with a count of at least two, rounded down. */
export function formatDuration(seconds: number): string {
  for (const unit of units) {
    const [count] = divideWithRemainder(seconds, unit.seconds);
    if (count >= 2) return `${count} ${unit.name}`;
  }
  return seconds > 60 ? 'less than 2 minutes' : 'a minute or less';
}

export function formatFirst(names: readonly string[], most: number): string {
  if (names.length <= most) return names.join(', ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}
