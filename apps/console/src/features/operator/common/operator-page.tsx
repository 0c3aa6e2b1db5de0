import type { ComponentType } from 'react';
import { RequireScope } from '../../../app/require-scope.tsx';

/** All pages of this area are for operators; what changes something asks for more where it stands. */
export function operatorPage(title: string, Page: ComponentType) {
  return () => (
    <RequireScope
      scope="admin:read"
      title={title}
      who="This page is for operators: people who run this installation and hold the platform role “operator”. Another operator can tell you how to get it."
    >
      <Page />
    </RequireScope>
  );
}
