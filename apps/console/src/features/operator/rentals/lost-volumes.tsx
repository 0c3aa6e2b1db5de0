import { useState } from 'react';
import { CommandHint } from '../../../ui/copy.tsx';
import { TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { volumeIdIssue } from './volume-id.ts';
import { WriteOffButton } from '../common/write-off-button.tsx';

/** Operators cannot list volumes, so they enter the number that the tenant sees. */
export function LostVolumes() {
  const [text, setText] = useState('');
  const problem = volumeIdIssue(text);
  const storageVolumeId = Number(text);
  return (
    <>
      <Card
        title="Write off a volume"
        about="For a volume whose storage server will not return. The tenant sees it as unknown and still pays for it."
      >
        <div className="flex flex-wrap items-end gap-3">
          <TextField
            label="Volume number"
            hint="Shown to the tenant on the volume page and in: millrace volume list"
            inputMode="numeric"
            value={text}
            onValue={(value) => setText(value.trim())}
          />
          <WriteOffButton
            name={`volume ${text}`}
            off={problem}
            run={(client, request) => client.admin.volumes.writeOff({ storageVolumeId, ...request })}
          >
            <p>
              Data and snapshots are declared lost without retention, and the volume is detached. Charges
              since the storage server last responded are refunded. Not possible while the server responds.
            </p>
          </WriteOffButton>
        </div>
      </Card>
      <CommandHint
        command={`millrace admin volume write-off ${problem === false ? text : 'NUMBER'} --reason "…" --host-is-off`}
      />
    </>
  );
}
