import { PageHead } from '../../ui/page.tsx';

export function SignInPage() {
  return <PageHead title="SignInPage" />;
}
