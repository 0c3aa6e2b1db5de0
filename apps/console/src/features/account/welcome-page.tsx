import { PageHead } from '../../ui/page.tsx';

export function WelcomePage() {
  return <PageHead title="WelcomePage" />;
}
