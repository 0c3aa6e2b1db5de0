import type { ReactNode } from 'react';
import { RequireScope } from '../../../app/require-scope.tsx';

/** All pages of this area are for operators; what changes something asks for more where it stands. */
export function RequireOperator({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <RequireScope
      scope="admin:read"
      title={title}
      who="This page is for operators: people who run this installation and hold the platform role “operator”. Another operator can tell you how to get it."
    >
      {children}
    </RequireScope>
  );
}
