import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { ApiError } from '@millrace/sdk';
import { lazy, Suspense } from 'react';
import { cache } from './api/cache.ts';
import { sleep } from './api/clock.ts';
import { startSession } from './api/session.tsx';
import { BackgroundContext } from './app/background.ts';
import { Toasts } from './ui/toast.tsx';
import { router } from './router.tsx';

startSession(cache);
/** After this time the frame appears without the page. */
const PAGE_WAIT_MS = 300;

/** Code and data of the first page. React renders them with the frame, since the browser lays out and paints each rendering. */
export const firstPage = Promise.race([router.load(), sleep(PAGE_WAIT_MS)]).catch(() => {
  // The router loads the page again when it is rendered, and shows the failure.
});

// A 401 sends the user to the sign-in page.
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
