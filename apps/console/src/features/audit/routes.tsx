import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { definedParams, textParam } from '../../app/search-params.ts';
import { insideRoute } from '../../app/root-routes.tsx';
import { dayParam } from '../rentals/search.ts';

export interface AuditSearch {
  readonly action?: string;
  readonly actor?: string;
  readonly resource?: string;
  /** Local dates such as `2026-11-16`. */
  readonly from?: string;
  readonly until?: string;
}

/** The API refuses longer values. */
function filterParam(value: unknown): string | undefined {
  const text = textParam(value);
  return text !== undefined && text.length <= 100 ? text : undefined;
}

export const auditRoutes = [
  createRoute({
    getParentRoute: () => insideRoute,
    path: 'audit',
    validateSearch: (search: Record<string, unknown>): AuditSearch =>
      definedParams({
        action: filterParam(search['action']),
        actor: filterParam(search['actor']),
        resource: filterParam(search['resource']),
        from: dayParam(search['from']),
        until: dayParam(search['until']),
      }),
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
] as const;
