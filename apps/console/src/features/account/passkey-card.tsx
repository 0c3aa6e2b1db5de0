import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { useInstallation } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { addPasskey, canUsePasskeys } from './passkeys.ts';
import { useForm } from './use-form.ts';

interface Passkey {
  readonly id: string;
  readonly name?: string | null;
  readonly createdAt?: string | null;
}

const key = ['person', 'passkeys'] as const;

export function Passkeys() {
  const cache = useQueryClient();
  const { data: installation } = useInstallation();
  const [error, setError] = useState<unknown>(null);
  const isOn = installation?.passkeys === true;
  const query = useQuery({
    queryKey: key,
    queryFn: () => authCall<readonly Passkey[]>('GET', '/passkey/list-user-passkeys'),
    enabled: isOn,
  });
  const refresh = (): Promise<void> => cache.invalidateQueries({ queryKey: key });
  const adding = useForm(async ({ name = '' }) => {
    await addPasskey(name);
    await refresh();
  });
  const remove = async (id: string): Promise<void> => {
    await authCall('POST', '/passkey/delete-passkey', { id });
    await refresh();
  };
  if (!isOn) return null;
  return (
    <Card title="Passkeys" about="Sign in with fingerprint, face or security key instead of your password.">
      <QueryView query={query} what="passkeys">
        {(passkeys) => (
          <ul className="mb-3 flex flex-col gap-1">
            {passkeys.length === 0 && <li className="text-soft">No passkeys yet.</li>}
            {passkeys.map(({ id, name, createdAt }) => (
              <li key={id} className="flex items-center justify-between gap-2">
                <span>
                  {name ?? 'Passkey'} {typeof createdAt === 'string' && <RelativeTime at={createdAt} />}
                </span>
                <Button size="small" kind="danger" onClick={() => void remove(id).catch(setError)}>
                  Remove
                </Button>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
      <form onSubmit={adding.onSubmit} className="flex max-w-sm flex-col gap-3">
        <TextField label="Name" name="name" placeholder="Laptop" required maxLength={100} />
        {(adding.error ?? error) !== null && <Problem error={adding.error ?? error} />}
        <div>
          <Button
            type="submit"
            busy={adding.busy && 'Waiting for your device…'}
            off={!canUsePasskeys() && 'This browser does not support passkeys.'}
          >
            Add passkey
          </Button>
        </div>
      </form>
    </Card>
  );
}
