import { SquareTerminal } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { CopyButton } from '../../../ui/copy.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { hasEnded, type Rental } from '../rental.ts';

/** Tail of the serial console, to see why a machine does not boot. */
export function ConsoleTab({ rental }: Readonly<{ rental: Rental }>) {
  const { id: rentalId } = rental;
  const query = useApiQuery(
    ['rentals', 'one', rentalId, 'console'],
    (client, signal) => client.rentals.getConsole({ rentalId }, { signal }),
    { refetchMs: hasEnded(rental) ? false : 5_000 },
  );
  return (
    <Card
      title="Console log"
      about="Output of the serial console. Do not print secrets there."
      {...(query.data === undefined
        ? {}
        : { actions: <CopyButton text={query.data.output} what="console log" /> })}
      flush
    >
      <QueryView query={query} what="console log">
        {({ output, truncated, readAt }) =>
          output === '' ? (
            <EmptyState icon={SquareTerminal} title="No output yet">
              {hasEnded(rental)
                ? 'The machine wrote no output.'
                : 'Machines usually write output while they boot.'}
            </EmptyState>
          ) : (
            <>
              <Output text={output} />
              <p className="text-soft border-line border-t px-4 py-2 text-xs">
                {truncated && 'Earlier output is omitted. '}Read at <Timestamp at={readAt} />.
              </p>
            </>
          )
        }
      </QueryView>
    </Card>
  );
}

/** Follows new output unless the user scrolled up. */
function Output({ text }: Readonly<{ text: string }>) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <pre
      ref={box}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Console log"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
      className="bg-raised max-h-[60vh] overflow-auto p-4 whitespace-pre-wrap break-all"
    >
      {text}
    </pre>
  );
}
