import type { Scope } from '@millrace/contract/scopes';
import { Lock } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { Card, PageHeader } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { accessDeniedText } from './access-denied.ts';
import { useSession } from '../api/session.tsx';

interface RequireScopeProps {
  readonly scope: Scope;
  readonly title: string;
  readonly who: string;
  readonly children: ReactNode;
}

/** Shows the page if the user has the scope; otherwise says which role is needed and who grants it. */
export function RequireScope({ scope, title, who, children }: RequireScopeProps) {
  const session = useSession();
  if (session.may(scope)) return children;
  const { organisation, role } = session.me;
  const isTest = session.place.mode === 'test';
  return (
    <>
      <PageHeader title={title} />
      <Card>
        <EmptyState
          icon={Lock}
          title={isTest ? 'This page is available in live mode only' : 'Your role does not include this page'}
          action={
            isTest && (
              <Button kind="primary" onClick={() => session.go({ mode: 'live' })}>
                Switch to live mode
              </Button>
            )
          }
        >
          {accessDeniedText({ isTest, who, role, organisation: organisation.name, scope }).map((line) => (
            <p key={line} className="mt-1">
              {line}
            </p>
          ))}
        </EmptyState>
      </Card>
    </>
  );
}
