import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { useForm } from './use-form.ts';

export function TwoFactorPrompt({ onDone }: Readonly<{ onDone: () => Promise<void> }>) {
  const [backup, setBackup] = useState(false);
  const { busy, error, onSubmit } = useForm(async ({ code = '' }) => {
    const path = backup ? '/two-factor/verify-backup-code' : '/two-factor/verify-totp';
    await authCall('POST', path, { code: code.trim() });
    await onDone();
  });
  return (
    <SingleFormPage
      title="Two-factor authentication"
      about={
        backup
          ? 'Enter one of your backup codes. Each works once.'
          : 'Enter the six-digit code from your authenticator app.'
      }
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField
          key={String(backup)}
          label={backup ? 'Backup code' : 'Code'}
          name="code"
          inputMode={backup ? 'text' : 'numeric'}
          autoComplete="one-time-code"
          required
          autoFocus
          maxLength={20}
        />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Checking…'}>
          Continue
        </Button>
        <Button kind="quiet" onClick={() => setBackup(!backup)}>
          {backup ? 'Use authenticator app' : 'Use a backup code'}
        </Button>
      </form>
    </SingleFormPage>
  );
}
