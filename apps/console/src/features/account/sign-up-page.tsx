import { PageHead } from '../../ui/page.tsx';

export function SignUpPage() {
  return <PageHead title="SignUpPage" />;
}
