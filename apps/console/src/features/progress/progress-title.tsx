import { useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { setTitleProgress } from '../../ui/logic/page-title.ts';
import type { Rental } from '../rentals/rental.ts';
import { useRental } from '../rentals/use-rental.ts';
import { instanceOperation, progressText, rentalOperation } from './long-operations.ts';

const POLL_MS = 2_000;
/** More are counted only up to this number. */
const MAX_SHOWN = 20;

/**
 * Shows the progress of rentals and instances in the title of the tab. Two requests at the start and after events of
 * their kind; it polls only while something starts.
 */
export function ProgressTitle() {
  const pathname = useLocation({ select: (location) => location.pathname });
  const open = useOpenRental(pathname);
  const rentals = useStartingRentals();
  const instances = useStartingInstances();
  const atMs = nowMs();
  const shown = new Map([...rentals, ...open].map((rental) => [rental.id, rental]));
  const operations = [
    ...[...shown.values()].map((rental) => rentalOperation(rental, atMs)),
    ...instances.map(({ id, instance }) => instanceOperation(id, instance.status)),
  ].filter((operation) => operation !== null);
  const text = progressText(operations, pathname);
  useEffect(() => setTitleProgress(text), [text]);
  useEffect(() => () => setTitleProgress(null), []);
  return null;
}

function useStartingRentals() {
  const { data } = useApiQuery(
    ['rentals', 'starting'],
    async (client, signal) =>
      (await client.rentals.list({ status: 'Pending', limit: MAX_SHOWN }, { signal })).items,
    {
      enabled: useSession().may('rentals:read'),
      refetchMs: (rentals) => (rentals !== undefined && rentals.length > 0 ? POLL_MS : false),
    },
  );
  return data ?? [];
}

function useStartingInstances() {
  const { data } = useApiQuery(
    ['instances', 'starting'],
    async (client, signal) => {
      const { items } = await client.marketplace.instances.list({}, { signal });
      return items.filter(({ id, instance }) => instanceOperation(id, instance.status) !== null);
    },
    {
      enabled: useSession().may('marketplace:read'),
      refetchMs: (instances) => (instances !== undefined && instances.length > 0 ? POLL_MS : false),
    },
  );
  return data ?? [];
}

/** The rental of the open page, which may also stop or end. It shares the request of that page. */
function useOpenRental(pathname: string): readonly Rental[] {
  const id = /^\/rentals\/(\d+)$/.exec(pathname)?.[1];
  const { data } = useRental(Number(id ?? 0), { enabled: id !== undefined });
  return data === undefined ? [] : [data];
}
