import { PageHead } from '../../ui/page.tsx';

export function AccountPage() {
  return <PageHead title="AccountPage" />;
}
