import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { ApiError } from '@millrace/sdk';
import { lazy, Suspense } from 'react';
import { startSession } from './api/session.tsx';
import { BackgroundContext } from './app/background.ts';
import { Toasts } from './ui/toast.tsx';
import { router } from './router.tsx';

// The SDK already retries. A 401 sends the user to the sign-in page.
const cache = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 2_000, refetchOnWindowFocus: true } },
});

startSession(cache);
// The code of the page loads while React shows the frame.
for (const { routeId } of router.matchRoutes(router.latestLocation) as readonly {
  routeId: keyof typeof router.routesById;
}[]) {
  void router.loadRouteChunk(router.routesById[routeId]);
}

cache.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated' || event.action.type !== 'error') return;
  const error: unknown = event.action.error;
  const [noun] = event.query.queryKey as readonly unknown[];
  if (error instanceof ApiError && error.reason === 'SESSION_ENDED' && noun !== 'person') {
    void cache.resetQueries({ queryKey: ['person'] });
  }
});

const ProgressTitle = lazy(async () => {
  const module = await import('./features/progress/progress-title.tsx');
  return { default: module.ProgressTitle };
});

const background = (
  <Suspense fallback={null}>
    <ProgressTitle />
  </Suspense>
);

export function App() {
  return (
    <QueryClientProvider client={cache}>
      <Toasts>
        <BackgroundContext value={background}>
          <RouterProvider router={router} />
        </BackgroundContext>
      </Toasts>
    </QueryClientProvider>
  );
}
