import { useIsFetching } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { sleep } from '../api/clock.ts';

/** Long enough for the page to start its next request. */
const QUIET_MS = 300;

/** Shows its children when the page has loaded its data, so that background work does not slow the page down. */
export function AfterLoad({ children }: Readonly<{ children: ReactNode }>) {
  const isLoading = useIsFetching() > 0;
  const [hasLoaded, setHasLoaded] = useState(false);
  useEffect(() => {
    if (isLoading || hasLoaded) return undefined;
    const waiting = new AbortController();
    sleep(QUIET_MS, waiting.signal).then(
      () => setHasLoaded(true),
      () => undefined,
    );
    return () => waiting.abort();
  }, [isLoading, hasLoaded]);
  return hasLoaded && children;
}
