import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { followTheme } from '../app/theme.ts';
import { Toasts } from '../ui/toast.tsx';
import { DesignPage } from './design-page.tsx';

/** All tokens and shared components in all states, at /design of `npm run console:dev`. Not part of the build. */

followTheme();
// Links need a router, but lead nowhere here.
const router = createRouter({
  routeTree: createRootRoute({ component: DesignPage, notFoundComponent: DesignPage }),
  history: createMemoryHistory(),
});
const root = document.querySelector('#root');
if (root === null) throw new Error('design.html has no #root element.');
createRoot(root).render(
  <StrictMode>
    <Toasts>
      <RouterProvider router={router as never} />
    </Toasts>
  </StrictMode>,
);
