//! nghttp2's sessions behind a safe interface. This file contains the calls into the C library;
//! [`callbacks`] contains the functions that C calls. [`stream_errors`] finds errors of a single
//! stream, which the library does not distinguish from errors of the connection.
//!
//! A [`Session`] consumes received plaintext and produces plaintext to send; it does no I/O. Each
//! call borrows an [`Events`], to which the session reports what it has read. So a session holds no
//! reference to its user, and its user holds none to C's memory.

mod callbacks;
mod frame;
mod stream_errors;

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use libnghttp2_sys as sys;

pub use frame::{FrameHead, GoAway, HEAD, Kind};
pub use stream_errors::BEHIND_END;
use stream_errors::{StreamState, Watch, breach};

/// The length of the client connection preface (RFC 9113, section 3.4).
const PREFACE: usize = 24;

/// The highest number of CONTINUATION frames after a HEADERS frame, as in nghttp2's default.
const CONTINUATION_LIMIT: usize = 8;

/// The highest number of waiting answers to SETTINGS and PING; nghttp2's default is 1,000.
const ANSWER_LIMIT: usize = 100;

/// The highest number of fields in a sent response.
const FIELDS: usize = 8;

/// The session must not continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// Receives the events of a session. An error breaks the session.
pub trait Events {
    /// The start of a frame; for HEADERS, before its fields.
    fn begin(&mut self, frame: &FrameHead) -> Result<(), Broken>;

    /// A field of the current header block.
    fn field(&mut self, stream: i32, name: &[u8], value: &[u8]) -> Result<(), Broken>;

    /// A field of the current header block with a name or a value that no field may have (RFC 9113,
    /// section 8.2.1). Without an error the session ignores the field.
    fn malformed(&mut self, _name: &[u8], _value: &[u8]) -> Result<(), Broken> {
        Ok(())
    }

    /// A field of this name for which the session now ends the connection: it is of no response, or
    /// out of place (RFC 9113, sections 8.2 and 8.3).
    fn misplaced(&mut self, _name: &[u8]) {}

    /// Bytes of a DATA frame.
    fn data(&mut self, stream: i32, bytes: &[u8]) -> Result<(), Broken>;

    /// A complete and valid frame.
    fn frame(&mut self, frame: &FrameHead) -> Result<(), Broken>;

    /// The peer is ending the connection. Streams above the last one are closed next.
    fn go_away(&mut self, notice: GoAway) -> Result<(), Broken>;

    /// A frame that violates the protocol, with the library's message.
    fn violation(&mut self, words: &'static str);

    /// The end of a stream, with its error code (RFC 9113, section 7).
    fn closed(&mut self, stream: i32, code: u32);

    /// Writes the next bytes of a stream's body into `room`. Returns their number, and whether they
    /// are the last.
    fn fill(&mut self, stream: i32, room: &mut [u8]) -> (usize, bool);
}

/// A header field to send.
pub type Field<'f> = (&'f [u8], &'f [u8]);

/// One side of an HTTP/2 connection. It reports to an `E`.
#[derive(Debug)]
pub struct Session<E> {
    raw: NonNull<sys::nghttp2_session>,
    watch: Watch,
    events: PhantomData<fn(&mut E)>,
}

/// What the functions that C calls work on during a call.
struct Lent<'c, E> {
    events: &'c mut E,
    watch: &'c mut Watch,
}

// SAFETY: a session is plain memory of its own without ties to a thread, and `Session` hands out no
// second reference to it.
unsafe impl<E> Send for Session<E> {}

impl<E: Events> Session<E> {
    /// A client session; `None` if memory is exhausted.
    pub fn client() -> Option<Self> {
        Self::new(sys::nghttp2_session_client_new2, Watch::new(0))
    }

    /// A server session; `None` if memory is exhausted.
    pub fn server() -> Option<Self> {
        Self::new(sys::nghttp2_session_server_new2, Watch::new(PREFACE))
    }

    fn new(
        make: unsafe extern "C" fn(
            *mut *mut sys::nghttp2_session,
            *const sys::nghttp2_session_callbacks,
            *mut c_void,
            *const sys::nghttp2_option,
        ) -> c_int,
        watch: Watch,
    ) -> Option<Self> {
        let mut raw = ptr::null_mut();
        let (mut callbacks, mut option) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the constructors store a valid pointer or fail; a new session copies both
        // objects, so they are freed here (freeing null does nothing).
        unsafe {
            if sys::nghttp2_session_callbacks_new(&raw mut callbacks) == 0
                && sys::nghttp2_option_new(&raw mut option) == 0
            {
                set_callbacks::<E>(callbacks);
                sys::nghttp2_option_set_max_continuations(option, CONTINUATION_LIMIT);
                sys::nghttp2_option_set_max_outbound_ack(option, ANSWER_LIMIT);
                // Closed streams are needed only for priorities, and cost memory.
                sys::nghttp2_option_set_no_closed_streams(option, 1);
                make(&raw mut raw, callbacks, ptr::null_mut(), option);
            }
            sys::nghttp2_option_del(option);
            sys::nghttp2_session_callbacks_del(callbacks);
        }
        Some(Self { raw: NonNull::new(raw)?, watch, events: PhantomData })
    }

    /// Sends these settings (RFC 9113, section 6.5.2), and sets the connection's flow-control
    /// window to N bytes.
    pub fn settings(&mut self, settings: &[(u32, u32)], window: i32) -> Result<(), Broken> {
        let entries: Vec<_> = settings
            .iter()
            .map(|&(id, value)| sys::nghttp2_settings_entry { settings_id: id as i32, value })
            .collect();
        // SAFETY: the session is valid, and the entries are copied during the call.
        let done = unsafe {
            sys::nghttp2_submit_settings(self.raw.as_ptr(), 0, entries.as_ptr(), entries.len()) == 0
                && sys::nghttp2_session_set_local_window_size(self.raw.as_ptr(), 0, 0, window) == 0
        };
        if done { Ok(()) } else { Err(Broken) }
    }

    /// Processes received plaintext.
    pub fn receive(&mut self, events: &mut E, bytes: &[u8]) -> Result<(), Broken> {
        let (mut fed, mut at) = (0, 0);
        while let Some(head) = self.watch.suspect(bytes, &mut at) {
            // The state of the stream depends on the frames in front of this one.
            let start = at.saturating_sub(HEAD);
            self.feed(events, &bytes[fed..start])?;
            fed = start;
            // SAFETY: the session is valid.
            let state = unsafe { state_of(self.raw.as_ptr(), head.stream) };
            if let Some((code, words)) = breach(&head, state) {
                events.violation(words);
                if state != StreamState::Closed {
                    self.watch.fail(head.stream, code);
                }
                return self.terminate(code);
            }
        }
        self.feed(events, &bytes[fed..])
    }

    fn feed(&mut self, events: &mut E, bytes: &[u8]) -> Result<(), Broken> {
        // SAFETY: the session and the bytes are valid; the callbacks get `events`, which has no
        // other user during the call, and which is taken back after it.
        let taken = self.lending(events, |raw| unsafe {
            sys::nghttp2_session_mem_recv2(raw, bytes.as_ptr(), bytes.len())
        });
        if taken == bytes.len() as isize { Ok(()) } else { Err(Broken) }
    }

    /// Appends waiting plaintext to send: all of it, or up to a frame more than N bytes. A GOAWAY
    /// for an error of a stream comes behind a RST_STREAM.
    pub fn send(&mut self, events: &mut E, to: &mut Vec<u8>, limit: usize) -> Result<(), Broken> {
        while to.len() < limit {
            let mut made = ptr::null();
            // SAFETY: as in `receive`; the library stores a pointer to its own bytes.
            let length = self.lending(events, |raw| unsafe {
                sys::nghttp2_session_mem_send2(raw, &raw mut made)
            });
            match usize::try_from(length) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    // SAFETY: the library has produced that number of bytes, which live until the
                    // next call.
                    let frame = unsafe { std::slice::from_raw_parts(made, length) };
                    to.extend(self.watch.reset_before(frame).into_iter().flatten());
                    to.extend_from_slice(frame);
                }
                Err(_) => return Err(Broken),
            }
        }
        Ok(())
    }

    fn lending<T>(
        &mut self,
        events: &mut E,
        call: impl FnOnce(*mut sys::nghttp2_session) -> T,
    ) -> T {
        let raw = self.raw.as_ptr();
        let mut lent = Lent { events, watch: &mut self.watch };
        // SAFETY: the session is valid; it only stores the pointer, for the callbacks of this call.
        unsafe { sys::nghttp2_session_set_user_data(raw, (&raw mut lent).cast()) };
        let result = call(raw);
        // SAFETY: as above.
        unsafe { sys::nghttp2_session_set_user_data(raw, ptr::null_mut()) };
        result
    }

    /// Starts a request; returns its stream. [`Events::fill`] supplies the body, if there is one.
    pub fn request<'f>(
        &mut self,
        fields: impl ExactSizeIterator<Item = Field<'f>>,
        body: bool,
    ) -> Result<i32, Broken> {
        let length = fields.len();
        let (mut few, many): (_, Vec<_>);
        let list = if length <= FIELDS {
            few = [raw_field((b"", b"")); FIELDS];
            few.iter_mut().zip(fields).for_each(|(place, field)| *place = raw_field(field));
            &few[..length]
        } else {
            many = fields.map(raw_field).collect();
            &many[..]
        };
        let provider = provider::<E>();
        let provider = if body { &raw const provider } else { ptr::null() };
        // SAFETY: the session is valid; fields and provider are copied during the call.
        let stream = unsafe {
            sys::nghttp2_submit_request2(
                self.raw.as_ptr(),
                ptr::null(),
                list.as_ptr(),
                length,
                provider,
                ptr::null_mut(),
            )
        };
        if stream > 0 { Ok(stream) } else { Err(Broken) }
    }

    /// Answers a request. [`Events::fill`] supplies the body, if there is one.
    pub fn respond(&mut self, stream: i32, fields: &[Field<'_>], body: bool) -> Result<(), Broken> {
        let (list, length) = (field_list(fields), fields.len());
        let provider = provider::<E>();
        let provider = if body { &raw const provider } else { ptr::null() };
        // SAFETY: the session is valid; fields and provider are copied during the call.
        let done = unsafe {
            sys::nghttp2_submit_response2(
                self.raw.as_ptr(),
                stream,
                list.as_ptr(),
                length,
                provider,
            )
        };
        if done == 0 { Ok(()) } else { Err(Broken) }
    }

    /// Sends GOAWAY: requests after those already started will not be answered.
    pub fn go_away(&mut self) -> Result<(), Broken> {
        let raw = self.raw.as_ptr();
        // SAFETY: the session is valid; there is no opaque data.
        let done = unsafe {
            let last = sys::nghttp2_session_get_last_proc_stream_id(raw);
            sys::nghttp2_submit_goaway(raw, 0, last, sys::NGHTTP2_NO_ERROR, ptr::null(), 0)
        };
        if done == 0 { Ok(()) } else { Err(Broken) }
    }

    /// Prepares the GOAWAY that ends the connection with this error code (RFC 9113, section 7).
    pub fn terminate(&mut self, code: u32) -> Result<(), Broken> {
        // SAFETY: the session is valid.
        let done = unsafe { sys::nghttp2_session_terminate_session(self.raw.as_ptr(), code) };
        if done == 0 { Ok(()) } else { Err(Broken) }
    }

    /// The number of concurrent streams that the peer allows. Valid after its SETTINGS have
    /// arrived.
    pub fn peer_streams(&self) -> u32 {
        let id = sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS;
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_get_remote_settings(self.raw.as_ptr(), id) }
    }

    /// True if the session still wants to receive.
    pub fn wants_to_read(&self) -> bool {
        // SAFETY: the session is valid, and the call changes nothing.
        unsafe { sys::nghttp2_session_want_read(self.raw.as_ptr()) != 0 }
    }

    /// True if the session has something to send.
    pub fn wants_to_send(&self) -> bool {
        // SAFETY: as above.
        unsafe { sys::nghttp2_session_want_write(self.raw.as_ptr()) != 0 }
    }
}

impl<E> Drop for Session<E> {
    fn drop(&mut self) {
        // SAFETY: the session is valid and has no user any more.
        unsafe { sys::nghttp2_session_del(self.raw.as_ptr()) }
    }
}

/// The version of nghttp2.
pub fn version() -> &'static str {
    // SAFETY: with 0 the call always returns a static struct with a static text.
    let text = unsafe { CStr::from_ptr((*sys::nghttp2_version(0)).version_str) };
    text.to_str().unwrap_or_default()
}

/// The state of a stream.
///
/// # Safety
/// The session must be valid.
unsafe fn state_of(raw: *mut sys::nghttp2_session, stream: i32) -> StreamState {
    // SAFETY: by this function's own contract; the calls change nothing.
    let (ended, serves, next) = unsafe {
        (
            sys::nghttp2_session_get_stream_remote_close(raw, stream),
            sys::nghttp2_session_check_server_session(raw) != 0,
            sys::nghttp2_session_get_next_stream_id(raw),
        )
    };
    // The client's streams have odd numbers (section 5.1.1).
    let is_own = stream > 0 && (stream % 2 == 1) != serves;
    match ended {
        0 => StreamState::Open,
        1 => StreamState::Ended,
        _ if is_own && stream.unsigned_abs() < next => StreamState::Closed,
        _ => StreamState::Absent,
    }
}

/// The source of bodies: [`Events::fill`].
fn provider<E: Events>() -> sys::nghttp2_data_provider2 {
    let source = sys::nghttp2_data_source { ptr: ptr::null_mut() };
    sys::nghttp2_data_provider2 { source, read_callback: Some(callbacks::fill::<E>) }
}

/// The fields in C's form, on the stack. Unused entries are empty.
///
/// # Panics
/// If there are more fields than [`FIELDS`].
fn field_list(fields: &[Field<'_>]) -> [sys::nghttp2_nv; FIELDS] {
    let mut list = [raw_field((b"", b"")); FIELDS];
    assert!(fields.len() <= FIELDS);
    for (place, field) in list.iter_mut().zip(fields) {
        *place = raw_field(*field);
    }
    list
}

fn raw_field((name, value): Field<'_>) -> sys::nghttp2_nv {
    sys::nghttp2_nv {
        name: name.as_ptr().cast_mut(),
        value: value.as_ptr().cast_mut(),
        namelen: name.len(),
        valuelen: value.len(),
        flags: sys::NGHTTP2_NV_FLAG_NONE as u8,
    }
}

/// # Safety
/// `to` must come from `nghttp2_session_callbacks_new`.
unsafe fn set_callbacks<E: Events>(to: *mut sys::nghttp2_session_callbacks) {
    // SAFETY: by this function's own contract; functions live forever.
    unsafe {
        sys::nghttp2_session_callbacks_set_on_begin_frame_callback(to, Some(callbacks::begin::<E>));
        sys::nghttp2_session_callbacks_set_on_header_callback(to, Some(callbacks::field::<E>));
        sys::nghttp2_session_callbacks_set_on_invalid_header_callback(
            to,
            Some(callbacks::malformed::<E>),
        );
        sys::nghttp2_session_callbacks_set_error_callback2(to, Some(callbacks::message::<E>));
        sys::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            to,
            Some(callbacks::data::<E>),
        );
        sys::nghttp2_session_callbacks_set_on_frame_recv_callback(to, Some(callbacks::frame::<E>));
        sys::nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
            to,
            Some(callbacks::violation::<E>),
        );
        sys::nghttp2_session_callbacks_set_on_stream_close_callback(
            to,
            Some(callbacks::closed::<E>),
        );
    }
}
