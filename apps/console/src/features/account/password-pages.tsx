import { PageHead } from '../../ui/page.tsx';

export function ForgotPasswordPage() {
  return <PageHead title="Forgot password" />;
}

export function ResetPasswordPage() {
  return <PageHead title="Reset password" />;
}
