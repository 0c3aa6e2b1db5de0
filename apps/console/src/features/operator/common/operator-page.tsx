import type { ComponentType } from 'react';
import { RequireScope } from '../../../app/require-scope.tsx';

/** Wraps a page that needs admin:read; actions check further scopes. */
export function operatorPage(title: string, Page: ComponentType) {
  return () => (
    <RequireScope
      scope="admin:read"
      title={title}
      who="This page is for operators, who run this installation and have the platform role “operator”. Ask another operator for access."
    >
      <Page />
    </RequireScope>
  );
}
