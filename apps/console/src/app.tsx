import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { ApiError } from '@millrace/sdk';
import { Toasts } from './ui/toast.tsx';
import { router } from './router.tsx';

// The SDK already retries. A 401 sends the user to the sign-in page.
const cache = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 2_000, refetchOnWindowFocus: true } },
});

cache.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated' || event.action.type !== 'error') return;
  const error: unknown = event.action.error;
  const [noun] = event.query.queryKey as readonly unknown[];
  if (error instanceof ApiError && error.reason === 'SESSION_ENDED' && noun !== 'person') {
    void cache.resetQueries({ queryKey: ['person'] });
  }
});

export function App() {
  return (
    <QueryClientProvider client={cache}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  );
}
