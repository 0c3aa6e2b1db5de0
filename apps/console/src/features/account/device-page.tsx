import { PageHead } from '../../ui/page.tsx';

export function DevicePage() {
  return <PageHead title="DevicePage" />;
}
