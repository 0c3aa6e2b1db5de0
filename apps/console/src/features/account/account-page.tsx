import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { anonymousClient } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { RelativeTime, Timestamp } from '../../ui/time.tsx';
import { NotificationSettings } from './notification-settings.tsx';
import { Passkeys } from './passkey-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { TwoFactorCard } from './two-factor-card.tsx';

/** What concerns the person and no organisation: name, password, second step, passkeys, where one is signed in, mail. */
export function AccountPage() {
  const { me } = useSession();
  return (
    <>
      <PageHeader
        title="Account and security"
        about="What concerns you, whichever organisation you act for."
      />
      <Card title="You">
        <DescriptionList
          items={[
            ['Name', me.user.name ?? '–'],
            ['Email', me.user.email],
            ['Person', <Id key="id" value={me.user.id} what="id of your account" />],
            ['Role here', `${me.role} of ${me.organisation.name}`],
            me.platformRoles.length === 0 ? null : ['On this cloud', me.platformRoles.join(', ')],
          ]}
        />
      </Card>
      <PasswordCard />
      <TwoFactorCard />
      <Passkeys />
      <Sessions />
      <NotificationSettings />
      <CommandHint command="millrace login" />
    </>
  );
}

const sessionsKey = ['person', 'sessions'] as const;

function Sessions() {
  const cache = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const query = useQuery({
    queryKey: sessionsKey,
    queryFn: async () => (await anonymousClient.me.listSessions()).items,
  });
  const end = async (sessionId: string): Promise<void> => {
    setError(null);
    await anonymousClient.me.endSession({ sessionId });
    await cache.invalidateQueries({ queryKey: sessionsKey });
  };
  return (
    <Card
      flush
      title="Where you are signed in"
      about="End what you do not know; it is refused within a second."
    >
      {error !== null && <Problem error={error} doing="end the session" />}
      <QueryView query={query} what="sessions">
        {(sessions) => (
          <Table
            caption="Sessions"
            rows={sessions}
            columns={[
              {
                head: 'Browser or program',
                main: true,
                cell: ({ userAgent, current }) => (
                  <>
                    {browserName(userAgent)} {current && <Badge tone="good">this one</Badge>}
                  </>
                ),
              },
              { head: 'Address', cell: ({ ip }) => ip ?? 'unknown' },
              { head: 'Signed in', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
              { head: 'Ends', cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
              {
                head: 'Action',
                right: true,
                cell: ({ id, current }) => (
                  <Button
                    size="small"
                    kind="danger"
                    off={current && 'This is the one you are using. Sign out instead.'}
                    onClick={() => void end(id).catch(setError)}
                  >
                    End
                  </Button>
                ),
              },
            ]}
          />
        )}
      </QueryView>
    </Card>
  );
}

/** Enough to tell one's laptop from one's phone; what browsers say of themselves is long and mostly the same. */
function browserName(agent: string | null): string {
  if (agent === null) return 'unknown';
  const known = ['Firefox', 'Edg', 'Chrome', 'Safari', 'millrace'].find((name) => agent.includes(name));
  const system = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS', 'Linux'].find((name) =>
    agent.includes(name),
  );
  if (known === undefined) return agent.slice(0, 40);
  return `${known === 'Edg' ? 'Edge' : known}${system === undefined ? '' : ` on ${system}`}`;
}
