import { FileDown } from 'lucide-react';
import { useApiMutation } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/states.tsx';
import { download } from '../../api/download.ts';

/** Downloads through the API client, so that access is checked in one place. */
export function PdfButton(props: Readonly<{ invoiceId: string; number: string; size?: 'small' | 'medium' }>) {
  const { invoiceId, number, size } = props;
  const save = useApiMutation(
    async (client, id: string) =>
      download(await client.invoices.getPdf({ invoiceId: id }).asResponse(), `${number}.pdf`),
    { changes: [] },
  );
  return (
    <>
      <Button
        {...(size === undefined ? {} : { size })}
        icon={<FileDown aria-hidden className="size-4" />}
        aria-label={`Download ${number} as PDF`}
        busy={save.isPending && 'Downloading…'}
        onClick={() => save.mutate(invoiceId)}
      >
        PDF
      </Button>
      {save.error !== null && <Problem error={save.error} doing={`download ${number}`} />}
    </>
  );
}
