import { QueryClient } from '@tanstack/react-query';

/** Results of reads. The SDK already retries. */
export const cache = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 2_000, refetchOnWindowFocus: true } },
});
