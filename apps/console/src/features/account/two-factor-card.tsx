import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { renderSVG } from 'uqr';
import { authCall } from '../../api/auth.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem, QueryView } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { PasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';

interface Account {
  readonly user: { readonly twoFactorEnabled?: boolean | null };
}

const accountKey = ['person', 'account'] as const;

export function TwoFactorCard() {
  const cache = useQueryClient();
  const account = useQuery({ queryKey: accountKey, queryFn: () => authCall<Account>('GET', '/get-session') });
  const refresh = (): void => void cache.invalidateQueries({ queryKey: accountKey });
  return (
    <Card
      title="Two-factor authentication"
      about="Enter a six-digit code from an authenticator app after your password."
    >
      <QueryView query={account} what="settings">
        {({ user }) =>
          user.twoFactorEnabled === true ? (
            <DisableTwoFactor onDone={refresh} />
          ) : (
            <EnableTwoFactor onDone={refresh} />
          )
        }
      </QueryView>
    </Card>
  );
}

interface Secret {
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
}

function EnableTwoFactor({ onDone }: Readonly<{ onDone: () => void }>) {
  const [secret, setSecret] = useState<Secret | null>(null);
  if (secret !== null) return <Confirmation secret={secret} onDone={onDone} />;
  return (
    <TwoFactorForm
      state={<Badge tone="warn">off</Badge>}
      label="Confirm your password"
      button="Enable two-factor authentication"
      doing="Creating a secret…"
      onSubmit={async (password) =>
        setSecret(await authCall<Secret>('POST', '/two-factor/enable', { password }))
      }
    />
  );
}

function Confirmation({ secret, onDone }: Readonly<{ secret: Secret; onDone: () => void }>) {
  const toast = useToast();
  const { busy, error, onSubmit } = useForm(async ({ code = '' }) => {
    await authCall('POST', '/two-factor/verify-totp', { code: code.trim() });
    toast('Two-factor authentication is on');
    onDone();
  });
  const key = new URL(secret.totpURI).searchParams.get('secret') ?? '';
  const picture = `data:image/svg+xml;utf8,${encodeURIComponent(renderSVG(secret.totpURI))}`;
  return (
    <form onSubmit={onSubmit} className="flex max-w-md flex-col gap-4">
      <p>Scan the QR code with your authenticator app, or enter the secret.</p>
      <img src={picture} alt="QR code of the secret" className="size-44 bg-paper rounded p-2" />
      <CodeBlock code={key} what="secret" label="Secret" />
      <CodeBlock
        code={secret.backupCodes.join('\n')}
        what="backup codes"
        label="Backup codes (each works once)"
      />
      <Note tone="warn">
        Store the backup codes somewhere you can reach without your phone. You cannot see them again.
      </Note>
      <TextField
        label="Six-digit code from the app"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={10}
      />
      {error !== null && <Problem error={error} />}
      <div>
        <Button kind="primary" type="submit" busy={busy && 'Checking…'}>
          Turn on
        </Button>
      </div>
    </form>
  );
}

function DisableTwoFactor({ onDone }: Readonly<{ onDone: () => void }>) {
  return (
    <TwoFactorForm
      state={<Badge tone="good">on</Badge>}
      label="Confirm your password"
      button="Turn off"
      kind="danger"
      doing="Turning off…"
      onSubmit={async (password) => {
        await authCall('POST', '/two-factor/disable', { password });
        onDone();
      }}
    />
  );
}

interface TwoFactorFormProps {
  readonly state: ReactNode;
  readonly label: string;
  readonly button: string;
  readonly kind?: 'danger';
  readonly doing: string;
  readonly onSubmit: (password: string) => Promise<void>;
}

/** Asks for the password, so that an unattended session cannot change two-factor sign-in. */
function TwoFactorForm({ state, label, button, kind, doing, onSubmit: submit }: TwoFactorFormProps) {
  const { busy, error, onSubmit } = useForm(({ password = '' }) => submit(password));
  return (
    <form onSubmit={onSubmit} className="flex max-w-sm flex-col gap-3">
      <p>{state}</p>
      <PasswordField label={label} />
      {error !== null && <Problem error={error} />}
      <div>
        <Button {...(kind !== undefined && { kind })} type="submit" busy={busy && doing}>
          {button}
        </Button>
      </div>
    </form>
  );
}
