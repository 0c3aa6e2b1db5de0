import { PageHead } from '../../ui/page.tsx';

export function Page() {
  return <PageHead title="Supplier" />;
}
