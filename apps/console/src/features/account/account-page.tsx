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
import { BrowserSettings } from './browser-settings.tsx';
import { NotificationSettings } from './notification-settings.tsx';
import { Passkeys } from './passkey-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { TwoFactorCard } from './two-factor-card.tsx';

export function AccountPage() {
  const { me } = useSession();
  return (
    <>
      <PageHeader title="Account and security" about="Settings for your user account in all organisations." />
      <Card title="Profile">
        <DescriptionList
          items={[
            ['Name', me.user.name ?? '–'],
            ['Email', me.user.email],
            ['User ID', <Id key="id" value={me.user.id} what="user ID" />],
            ['Role', `${me.role} of ${me.organisation.name}`],
            me.platformRoles.length === 0 ? null : ['Platform roles', me.platformRoles.join(', ')],
          ]}
        />
      </Card>
      <PasswordCard />
      <TwoFactorCard />
      <Passkeys />
      <Sessions />
      <NotificationSettings />
      <BrowserSettings />
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
      title="Sessions"
      about="Revoke any session that you do not recognise. It stops working within a second."
    >
      {error !== null && <Problem error={error} doing="revoke the session" />}
      <QueryView query={query} what="sessions">
        {(sessions) => (
          <Table
            caption="Sessions"
            rows={sessions}
            columns={[
              {
                head: 'Device',
                main: true,
                cell: ({ userAgent, current }) => (
                  <>
                    {browserName(userAgent)} {current && <Badge tone="good">current</Badge>}
                  </>
                ),
              },
              { head: 'IP address', cell: ({ ip }) => ip ?? 'unknown' },
              { head: 'Signed in', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
              { head: 'Expires', cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
              {
                head: 'Actions',
                right: true,
                cell: ({ id, current }) => (
                  <Button
                    size="small"
                    kind="danger"
                    off={current && 'This is your current session. Sign out instead.'}
                    onClick={() => void end(id).catch(setError)}
                  >
                    Revoke
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

/** Short browser and system name; full user agents are long and mostly identical. */
function browserName(agent: string | null): string {
  if (agent === null) return 'unknown';
  const known = ['Firefox', 'Edg', 'Chrome', 'Safari', 'millrace'].find((name) => agent.includes(name));
  const system = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS', 'Linux'].find((name) =>
    agent.includes(name),
  );
  if (known === undefined) return agent.slice(0, 40);
  return `${known === 'Edg' ? 'Edge' : known}${system === undefined ? '' : ` on ${system}`}`;
}
