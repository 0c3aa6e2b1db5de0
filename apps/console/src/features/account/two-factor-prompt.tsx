import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { useForm } from './use-form.ts';

/** The second step of signing in, for those who have set one up. */
export function TwoFactorPrompt({ onDone }: Readonly<{ onDone: () => Promise<void> }>) {
  const [backup, setBackup] = useState(false);
  const { busy, error, onSubmit } = useForm(async ({ code = '' }) => {
    const path = backup ? '/two-factor/verify-backup-code' : '/two-factor/verify-totp';
    await authCall('POST', path, { code: code.trim() });
    await onDone();
  });
  return (
    <SingleFormPage
      title="One more step"
      about={
        backup
          ? 'Type one of the backup codes that you kept. Each works once.'
          : 'Type the six digits that your authenticator app shows.'
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
          Go on
        </Button>
        <Button kind="quiet" onClick={() => setBackup(!backup)}>
          {backup ? 'Use the app instead' : 'Use a backup code instead'}
        </Button>
      </form>
    </SingleFormPage>
  );
}
