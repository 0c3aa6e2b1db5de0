import { PageHead } from '../../ui/page.tsx';

export function VerifiedPage() {
  return <PageHead title="VerifiedPage" />;
}
