import { expect, it } from 'vitest';
import { withLocalTimes } from './local-times.ts';

it('withLocalTimes replaces every timestamp in a text and nothing else', () => {
  const at = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date('2026-08-26T08:19:56.350Z'),
  );
  expect(withLocalTimes('Failing since 2026-08-26T08:19:56.350Z. Status 503.')).toBe(
    `Failing since ${at}. Status 503.`,
  );
  expect(withLocalTimes('2026-08-26 is a date')).toBe('2026-08-26 is a date');
});
