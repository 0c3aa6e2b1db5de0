import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Noun } from '../api/queries.ts';
import { useSessionIfAny } from './session.tsx';

/** What may look different after an event, by the first word of its type. */
const touched: Readonly<Record<string, readonly Noun[]>> = {
  rental: ['rentals', 'money', 'catalog'],
  volume: ['volumes', 'money'],
  instance: ['instances', 'marketplace', 'money'],
  machine: ['machines', 'supplier', 'marketplace'],
  balance: ['money'],
  budget: ['money'],
  invoice: ['money'],
  reservation: ['rentals'],
  key: ['keys'],
};

/**
 * Follows the feed of events of the organisation: whatever it names is read again at once, so a change is on the screen
 * within two seconds. Pages that must not miss anything also look again by themselves.
 */
export function LiveUpdates() {
  const session = useSessionIfAny();
  const cache = useQueryClient();
  const client = session?.client;
  const place = session?.place;
  const mayRead = session?.may('events:read') ?? false;
  useEffect(() => {
    if (client === undefined || place === undefined || !mayRead) return undefined;
    const leaving = new AbortController();
    const follow = async (): Promise<void> => {
      const stream = client.events.stream({ after: 'latest' }, { signal: leaving.signal });
      for await (const event of stream) {
        for (const noun of touched[event.type.split('.', 1)[0] ?? ''] ?? []) {
          void cache.invalidateQueries({ queryKey: [place.organisationId, place.mode, noun] });
        }
      }
    };
    // A feed that is given up is no failure of the page: what changes is still looked at again, only later.
    follow().catch(() => undefined);
    return () => leaving.abort();
  }, [client, place, mayRead, cache]);
  return null;
}
