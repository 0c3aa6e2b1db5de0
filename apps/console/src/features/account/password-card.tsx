import { authCall } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { CheckboxField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { NewPasswordField, PasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';

export function PasswordCard() {
  const toast = useToast();
  const { busy, error, onSubmit } = useForm(async ({ current = '', password = '', others }) => {
    await authCall('POST', '/change-password', {
      currentPassword: current,
      newPassword: password,
      revokeOtherSessions: others === 'on',
    });
    toast('Password changed');
  });
  return (
    <Card title="Password">
      <form onSubmit={onSubmit} className="flex max-w-sm flex-col gap-3">
        <PasswordField label="Current password" name="current" />
        <NewPasswordField label="New password" />
        <CheckboxField label="Sign out all other sessions" name="others" defaultChecked />
        {error !== null && <Problem error={error} />}
        <div>
          <Button type="submit" busy={busy && 'Saving…'}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  );
}
