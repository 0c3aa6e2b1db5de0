import type { MillraceEvent } from '@millrace/sdk';
import { expect, it } from 'vitest';
import { completionBody, completionOf } from './completion.ts';

const event = (type: string, data: Readonly<Record<string, unknown>>): MillraceEvent =>
  ({ type, data }) as unknown as MillraceEvent;

it.each([
  ['rental.running', { rentalId: 42, name: 'train' }, 'train is running', '/rentals/42'],
  ['rental.failed', { rentalId: 42, name: null, reason: 'No capacity.' }, 'Rental 42 failed', '/rentals/42'],
  ['rental.terminated', { rentalId: 42, name: 'train' }, 'train was terminated', '/rentals/42'],
  ['instance.online', { instanceId: 'a b' }, 'a b is online', '/instances/a%20b'],
  ['volume.restored', { storageVolumeId: 7, label: 'data' }, 'Volume data was restored', '/volumes/7'],
])('completionOf turns %s into a notification with a link', (type, data, title, href) => {
  expect(completionOf(event(type, data))).toMatchObject({ title, href });
});

it('completionOf shows the reason of a failure', () => {
  const failed = event('rental.failed', { rentalId: 42, name: 'train', reason: 'No capacity.' });
  expect(completionOf(failed)?.body).toBe('No capacity.');
});

it.each(['rental.pending', 'rental.expiring', 'balance.low', 'key.created', 'novel.thing'])(
  'completionOf ignores %s',
  (type) => {
    expect(completionOf(event(type, {}))).toBeNull();
  },
);

it('completionBody names the organisation only if the user has several, and test mode', () => {
  const completion = { title: '', body: 'Done.', href: '/' };
  const place = { organisation: 'Acme', hasSeveral: false, isTest: false };
  expect(completionBody(completion, place)).toBe('Done.');
  expect(completionBody(completion, { ...place, hasSeveral: true, isTest: true })).toBe(
    'Acme, Test mode: Done.',
  );
});
